// Maps a head h of v to its head of q and k: h % n_k_head, or, with NEIGHBOURS, one head for that many
// neighbouring heads.

#ifdef NEIGHBOURS

uint key_of(uint head)
{
    return head / uint(NEIGHBOURS);
}

// True for one head of v of each head of k.
bool is_first_of_key(uint head)
{
    return head % uint(NEIGHBOURS) == 0u;
}

// The head of k of one of which that is true.
uint first_key_of(uint head)
{
    return head / uint(NEIGHBOURS);
}

#else

uint key_of(uint head)
{
    return head % params.n_k_head;
}

bool is_first_of_key(uint head)
{
    return head < params.n_k_head;
}

uint first_key_of(uint head)
{
    return head;
}

#endif
