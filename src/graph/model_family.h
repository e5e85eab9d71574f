// A family of models: its hyperparameters and weights, and how one layer is recorded. One file each
// in models/, listed in models/families.h.
#ifndef GI_GRAPH_MODEL_FAMILY_H
#define GI_GRAPH_MODEL_FAMILY_H

#include "graph/graph.h"

// The layers of a family that keep a state in place of keys and values.
struct gi_recurrent_layers {
    const struct gi_weight_spec *weights;
    size_t n_weights;
    const struct gi_norm_spec *norms;
    size_t n_norms;
    void (*record_layer)(struct gi_graph *graph, uint32_t layer);
};

struct gi_model_family {
    const char *name; // general.architecture, and the prefix of its keys
    enum gi_rope_pairing rope_pairing;
    enum gi_activation activation;
    bool has_experts;
    // Reads what is the family's own, after the hyperparameters that all have; NULL: nothing is.
    bool (*read_hparams)(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
    const struct gi_weight_spec *weights; // n_weights, of one layer
    size_t n_weights;
    const struct gi_norm_spec *norms; // n_norms, of one layer
    size_t n_norms;
    void (*record_layer)(struct gi_graph *graph, uint32_t layer);
    const char *first_norm;  // the tensor of the first layer's GI_NORM_ATTN; NULL: as in norms
    const char *output_norm; // the tensor of the norm before the output; NULL: "output_norm"
    const struct gi_recurrent_layers *recurrent; // NULL: all layers must have heads of k and v
    // The family of a mixture's first layers, which have no experts (n_leading of the
    // hyperparameters), with a table of norms that this one's includes; NULL: there may be none.
    const struct gi_model_family *leading;
    // The family of files of this name that have experts; NULL: they are not told apart.
    const struct gi_model_family *with_experts;
    // The family of files of this name that have a tensor, which is named without its suffix.
    const struct gi_model_family *other;
    const char *other_tensor; // "blk.%u.attn_q_norm", of the first layer
};

// Returns the family whose tables a layer has: its own or that of leading layers.
const struct gi_model_family *gi_model_family_of(const struct gi_model_family *family,
                                                 const struct gi_hparams *hparams, uint32_t layer);
// Records a layer of either kind.
void gi_model_family_record(const struct gi_model_family *family, struct gi_graph *graph,
                            uint32_t layer);

// Returns the family of a general.architecture, NULL if it is not known.
const struct gi_model_family *gi_model_family_find(const char *name, size_t size);
#define GI_FAMILY_NAMES_SIZE 800
// Writes "llama, ...", the values of general.architecture that are known, and returns names.
const char *gi_model_family_names(char names[GI_FAMILY_NAMES_SIZE]);

#endif
