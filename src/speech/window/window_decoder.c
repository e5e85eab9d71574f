#include "speech/window/window_decoder.h"

#include "base/array.h"
#include "sampler/philox.h"

#include <stdlib.h>
#include <string.h>

bool gi_window_decoder_init(struct gi_window_decoder *decoder)
{
    const struct gi_speech_net *net = decoder->net;
    const uint32_t n = net->n_seq;
    return GI_ARRAYS_ZEROED("logits of a window", net->failure,
                            GI_NEW(decoder->logits, (size_t)n * net->n_vocab)) &&
           GI_ARRAYS_ZEROED("beams", net->failure, GI_NEW(decoder->beams, n),
                            GI_NEW(decoder->next, n), GI_NEW(decoder->is_taken, n));
}

void gi_window_decoder_finish(struct gi_window_decoder *decoder)
{
    for (uint32_t i = 0; decoder->net && i < decoder->net->n_seq; i++) {
        if (decoder->beams) {
            gi_whisper_finish(&decoder->beams[i].window);
        }
        if (decoder->next) {
            gi_whisper_finish(&decoder->next[i].window);
        }
    }
    free(decoder->logits);
    free(decoder->beams);
    free(decoder->next);
    free(decoder->is_taken);
    *decoder = (struct gi_window_decoder){0};
}

// Copies the state of a window, with its tokens, into the memory of another.
static bool copy_window(struct gi_whisper_window *to, const struct gi_whisper_window *from,
                        struct glinfer_error *failure)
{
    if (!GI_ARRAY_RESERVE(to, from->count + 1, "tokens of a transcript", failure)) {
        return false;
    }
    struct gi_whisper_token *data = to->data;
    const size_t capacity = to->capacity;
    *to = *from;
    to->data = data;
    to->capacity = capacity;
    if (from->count > 0) {
        memcpy(data, from->data, from->count * sizeof(*data));
    }
    return true;
}

void gi_window_decoder_begin(struct gi_window_decoder *decoder,
                             const struct gi_whisper_window *window, float temperature)
{
    struct gi_beam *beam = &decoder->beams[0];
    decoder->choice.temperature = temperature;
    decoder->n_beam = decoder->at = 0;
    beam->window.ids = decoder->choice.ids;
    beam->window.seek = window->seek;
    beam->window.end = window->end;
    beam->window.max_tokens = window->max_tokens;
    beam->window.without_times = window->without_times;
    gi_whisper_begin(&beam->window);
    beam->progress = GI_WHISPER_CONTINUES;
    beam->sum = 0;
    beam->seq = 0;
}

//-- choice ------------------------------------------------------------------------------------

struct candidate {
    struct gi_whisper_token token;
    uint32_t parent;
    double sum;
};

static float *logits_of(const struct gi_window_decoder *decoder, const struct gi_beam *beam)
{
    return &decoder->logits[(size_t)beam->seq * decoder->net->n_vocab];
}

// Adds a candidate to the best n of at most k.
static size_t insert(struct candidate *best, size_t n, size_t k, struct candidate candidate)
{
    size_t i = n < k ? n : k;
    for (; i > 0 && best[i - 1].sum < candidate.sum; i--) {
        if (i < k) {
            best[i] = best[i - 1];
        }
    }
    if (i < k) {
        best[i] = candidate;
    }
    return n < k ? n + 1 : k;
}

// Finds at most n_open ways to continue: the most likely of all beams, or at a temperature above 0
// a random one for each beam. Returns the number of ways.
static size_t find_candidates(struct gi_window_decoder *decoder, uint32_t n_open,
                              struct candidate *found)
{
    struct gi_whisper_choice choice = decoder->choice;
    struct gi_whisper_token tokens[GI_MAX_BEAMS];
    size_t n_found = 0;
    const bool is_random = choice.temperature > 0;
    for (uint32_t i = 0; i < decoder->n_beam; i++) {
        const struct gi_beam *beam = &decoder->beams[i];
        if (beam->progress != GI_WHISPER_CONTINUES) {
            continue;
        }
        const struct gi_whisper_mask mask = gi_whisper_next_mask(&beam->window);
        const uint32_t n_turn = is_random && beam->window.count == 0 ? n_open : 1;
        for (uint32_t turn = 0; turn < n_turn; turn++) {
            const uint32_t place = (uint32_t)beam->window.count + beam->window.seek;
            choice.uniform =
                gi_philox_uniform(decoder->seed, place,
                                  i + turn + GI_MAX_BEAMS * (uint32_t)(100 * choice.temperature));
            const size_t n = gi_whisper_choose(&choice, &mask, logits_of(decoder, beam), tokens,
                                               is_random ? 1 : n_open);
            for (size_t j = 0; j < n; j++) {
                const struct candidate candidate = {tokens[j], i,
                                                    beam->sum + (double)tokens[j].logprob};
                if (is_random && n_found < n_open) {
                    found[n_found++] = candidate;
                } else if (!is_random) {
                    n_found = insert(found, n_found, n_open, candidate);
                }
            }
        }
    }
    return n_found;
}

// Makes beam n of `next` from a beam and a token.
static bool continue_beam(struct gi_window_decoder *decoder, uint32_t n,
                          const struct candidate *candidate)
{
    const struct gi_beam *parent = &decoder->beams[candidate->parent];
    struct gi_beam *beam = &decoder->next[n];
    if (!copy_window(&beam->window, &parent->window, decoder->net->failure)) {
        return false;
    }
    beam->sum = candidate->sum;
    beam->parent = candidate->parent;
    return gi_whisper_push(&beam->window, candidate->token, &beam->progress, decoder->net->failure);
}

// Gives sequences to beams: the first that continues its parent takes the parent's, the others take
// copies in sequences that nobody needs any more.
static bool place_beams(struct gi_window_decoder *decoder, uint32_t n)
{
    const struct gi_speech_net *net = decoder->net;
    memset(decoder->is_taken, 0, net->n_seq * sizeof(*decoder->is_taken));
    for (uint32_t i = 0; i < n; i++) {
        struct gi_beam *beam = &decoder->next[i];
        const uint32_t seq = decoder->beams[beam->parent].seq;
        const bool is_first = beam->progress == GI_WHISPER_CONTINUES && !decoder->is_taken[seq];
        beam->seq = is_first ? seq : net->n_seq;
        decoder->is_taken[seq] = decoder->is_taken[seq] || is_first;
    }
    uint32_t free_seq = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct gi_beam *beam = &decoder->next[i];
        if (beam->seq < net->n_seq || beam->progress != GI_WHISPER_CONTINUES) {
            continue;
        }
        while (decoder->is_taken[free_seq]) {
            free_seq++;
        }
        decoder->is_taken[free_seq] = true;
        beam->seq = free_seq;
        if (!net->copy(net->user, free_seq, decoder->beams[beam->parent].seq,
                       decoder->n_prompt + (uint32_t)beam->window.count - 1)) {
            return false;
        }
    }
    return true;
}

// Continues all beams that have not ended by a token each.
static bool choose(struct gi_window_decoder *decoder)
{
    struct candidate found[GI_MAX_BEAMS];
    uint32_t n_ended = 0;
    for (uint32_t i = 0; i < decoder->n_beam; i++) {
        struct gi_beam *beam = &decoder->beams[i];
        if (beam->progress != GI_WHISPER_CONTINUES) { // keeps its place
            const struct gi_beam kept = decoder->next[n_ended];
            decoder->next[n_ended] = *beam;
            decoder->next[n_ended++].parent = i;
            *beam = kept;
            beam->progress = GI_WHISPER_FAILED; // not to be continued
        }
    }
    const uint32_t n_open = decoder->n_wanted - n_ended;
    const size_t n_found = find_candidates(decoder, n_open, found);
    if (n_found == 0) {
        return gi_error_set(decoder->net->failure, GLINFER_STATUS_GPU_FAULT,
                            "the GPU computed something impossible: no logit of the speech model "
                            "is a number");
    }
    uint32_t n = n_ended;
    for (size_t i = 0; i < n_found; i++) {
        if (!continue_beam(decoder, n++, &found[i])) {
            return false;
        }
    }
    if (!place_beams(decoder, n)) {
        return false;
    }
    struct gi_beam *beams = decoder->beams;
    decoder->beams = decoder->next;
    decoder->next = beams;
    decoder->n_beam = n;
    decoder->at = 0;
    return true;
}

//-- steps -------------------------------------------------------------------------------------

static void skip_ended(struct gi_window_decoder *decoder)
{
    while (decoder->at < decoder->n_beam &&
           decoder->beams[decoder->at].progress != GI_WHISPER_CONTINUES) {
        decoder->at++;
    }
}

// Decodes the latest token of the beam that is next, or of all at once where the network does that.
static enum gi_net_result decode_beams(struct gi_window_decoder *decoder)
{
    const struct gi_speech_net *net = decoder->net;
    uint32_t seqs[GI_MAX_BEAMS], tokens[GI_MAX_BEAMS], n = 0;
    float *logits[GI_MAX_BEAMS];
    const uint32_t first = decoder->at, count = (uint32_t)decoder->beams[first].window.count;
    do {
        const struct gi_beam *beam = &decoder->beams[decoder->at++]; // all are of one length
        seqs[n] = beam->seq;
        tokens[n] = beam->window.data[count - 1].id;
        logits[n++] = logits_of(decoder, beam);
        skip_ended(decoder);
    } while (net->decode_each && decoder->at < decoder->n_beam);
    const uint32_t n_past = decoder->n_prompt + count - 1;
    const enum gi_net_result result =
        net->decode_each && decoder->n_wanted > 1
            ? net->decode_each(net->user, seqs, n, n_past, tokens, logits)
            : net->decode(net->user, seqs[0], n_past, tokens, 1, logits[0]);
    decoder->at = result == GI_NET_DONE ? decoder->at : first;
    return result;
}

static enum gi_net_result decode_prompt(struct gi_window_decoder *decoder)
{
    const struct gi_speech_net *net = decoder->net;
    const struct gi_whisper_ids *ids = decoder->choice.ids;
    const enum gi_net_result result =
        net->decode(net->user, 0, 0, decoder->prompt, decoder->n_prompt, decoder->logits);
    if (result == GI_NET_DONE) {
        decoder->no_speech =
            gi_whisper_probability(decoder->logits, 0, ids->n_vocab, ids->no_speech);
        decoder->n_beam = decoder->at = 1;
    }
    return result;
}

// Adds the tokens that the network chooses to the only beam. What comes after the end is dropped.
static enum gi_net_result write_text(struct gi_window_decoder *decoder, bool *is_over)
{
    const struct gi_speech_net *net = decoder->net;
    struct gi_beam *beam = &decoder->beams[0];
    struct gi_whisper_window *window = &beam->window;
    const uint32_t count = (uint32_t)window->count;
    struct gi_whisper_token tokens[GI_NET_TOKENS];
    struct gi_net_text text = {beam->seq,         0,      decoder->prompt,
                               decoder->n_prompt, window, &decoder->choice};
    uint32_t n = 0;
    if (count > 0) {
        text.n_past = decoder->n_prompt + count - 1;
        text.tokens = &window->data[count - 1].id;
        text.n = 1;
    }
    const enum gi_net_result result = net->write(net->user, &text, tokens, &n, &decoder->no_speech);
    for (uint32_t i = 0; result == GI_NET_DONE && i < n && beam->progress == GI_WHISPER_CONTINUES;
         i++) {
        beam->sum += (double)tokens[i].logprob;
        if (!gi_whisper_push(window, tokens[i], &beam->progress, decoder->net->failure)) {
            return GI_NET_FAILED;
        }
    }
    decoder->n_beam = decoder->at = result == GI_NET_DONE ? 1 : decoder->n_beam;
    *is_over = beam->progress != GI_WHISPER_CONTINUES;
    return result;
}

enum gi_net_result gi_window_decoder_step(struct gi_window_decoder *decoder, bool *is_over)
{
    const struct gi_whisper_choice *choice = &decoder->choice;
    if (decoder->net->write && decoder->n_wanted == 1 && choice->temperature <= 0 &&
        choice->suppressed) {
        return write_text(decoder, is_over);
    }
    const enum gi_net_result result =
        decoder->n_beam == 0 ? decode_prompt(decoder) : decode_beams(decoder);
    *is_over = false;
    if (result != GI_NET_DONE || decoder->at < decoder->n_beam) {
        return result;
    }
    if (!choose(decoder)) {
        return GI_NET_FAILED;
    }
    skip_ended(decoder);
    *is_over = decoder->at == decoder->n_beam;
    return GI_NET_DONE;
}

struct gi_beam *gi_window_decoder_best(struct gi_window_decoder *decoder)
{
    struct gi_beam *best = NULL;
    for (uint32_t i = 0; i < decoder->n_beam; i++) {
        struct gi_beam *beam = &decoder->beams[i];
        if (beam->progress == GI_WHISPER_COMPLETE &&
            beam->window.n_result > GI_WHISPER_ENTROPY_TOKENS &&
            gi_whisper_entropy(&beam->window) < decoder->entropy_least) {
            beam->progress = GI_WHISPER_FAILED;
        }
        if (beam->progress == GI_WHISPER_COMPLETE &&
            (!best || gi_whisper_average(&beam->window) > gi_whisper_average(&best->window))) {
            best = beam;
        }
    }
    return best ? best : &decoder->beams[0];
}
