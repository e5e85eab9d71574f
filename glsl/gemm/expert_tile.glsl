// The rows that a group of a product owns; included after Params. With EXPERTS 1 the rows of x are
// sorted by expert (experts/sort_experts.comp) and begin at x_begin; `tiles` has for each group along
// y: { expert, first row of x, end, number of rows that x has more than y before them }. W is then a part
// of n_expert experts from first_expert on, n_rows each. Groups whose expert is elsewhere walk over no
// blocks: a barrier may not follow a return.
#if EXPERTS
uint first_token, token_end, first_row, block_end, token_shift;

// Takes the tile of the group. One of another part owns no token; the first is read in its place.
void open_product(vec4 tile)
{
    uint expert = uint(tile.x) - params.first_expert; // wraps to a large one before the part
    bool is_there = expert < params.n_expert;
    first_token = is_there ? uint(tile.y) : 1u;
    token_end = is_there ? uint(tile.z) : 1u;
    token_shift = is_there ? uint(tile.w) : 0u;
    first_row = is_there ? expert * params.n_rows : 0u;
    block_end = is_there ? params.n_block : 0u;
}

#define FIRST_TOKEN(n) first_token
#define TOKEN_END      token_end
#define TOKEN_SHIFT    token_shift
#define FIRST_ROW      first_row
#define BLOCK_END      block_end
#define X_BEGIN        params.x_begin
#else
#define open_product(tile)
#define FIRST_TOKEN(n) (gl_WorkGroupID.y * (n))
#define TOKEN_END      state.n_tokens
#define TOKEN_SHIFT    0u
#define FIRST_ROW      0u
#define BLOCK_END      params.n_block
#define X_BEGIN        0u
#endif
#define PRODUCT_TILE (params.tiles + gl_WorkGroupID.y)
