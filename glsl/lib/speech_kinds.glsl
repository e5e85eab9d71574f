// The tokens of a vocabulary by kind: text that may follow, timestamps that may follow, all others.
// A kind has its largest logit, the lowest id with that logit, and the sum of exp(logit - largest).
// Needs WG_SIZE, sample/best.glsl, lib/reduce.glsl and lib/exp_log.glsl.
//
// At word `rules` of the logits, the tokens that may follow; the twin is struct gi_speech_rules:
//   TEXT    begin and end of the ids of text
//   TIMES   begin and end of the ids of timestamps
//   BANNED  an id that may not follow; NO_ID: every id may
//   MOST    the end of timestamps where a pair of them is complete
// At word `sums`, for each group of speech_sums and each kind: largest (f32), id, sum (f32). A
// group that reads a NaN or an infinity writes UNSOUND as the id of its text.
#define TEXT params.rules
#define TIMES (params.rules + 2u)
#define BANNED (params.rules + 4u)
#define MOST (params.rules + 5u)

#define N_KINDS 3u
#define KIND_WORDS 3u
#define GROUP_WORDS 12u
#define LOWEST -3.4028235e38
#define UNSOUND 0xFFFFFFFEu

struct Kind {
    float most, sum;
    uint id; // NO_ID: the kind is empty
};

// Adds tokens whose ids are above those of the kind.
void add_kind(inout Kind kind, float most, uint id, float sum)
{
    if (kind.id == NO_ID || most > kind.most) {
        kind.sum = kind.sum * exp_negative(kind.most - most) + sum;
        kind.most = most;
        kind.id = id;
    } else {
        kind.sum += sum * exp_negative(most - kind.most);
    }
}

// Makes the kind of an invocation that of all. To be called by all of them.
void join_kind(inout Kind kind)
{
    float most = kind.most;
    bool is_empty = kind.id == NO_ID;
    uint key = is_empty ? 0u : key_of(floatBitsToUint(kind.most));
    find_best(key, kind.id);
    kind.most = key == 0u ? LOWEST : value_of(key);
    kind.sum = reduce_sum(is_empty ? 0.0 : kind.sum * exp_negative(most - kind.most), uint(WG_SIZE));
    group_barrier();
}
