// A family of models: its hyperparameters, its weights and the function that records one layer.
// Each family is a file in models/, listed in models/families.h.
#pragma once

#include "graph/graph.h"

// The layers of one kind.
struct gi_layer_tables {
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
    // Reads the family's own hyperparameters after the common ones; NULL: it has none.
    bool (*read_hparams)(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
    const struct gi_weight_spec *weights; // n_weights, of one layer
    size_t n_weights;
    const struct gi_norm_spec *norms; // n_norms, of one layer
    size_t n_norms;
    void (*record_layer)(struct gi_graph *graph, uint32_t layer);
    const char *first_norm;  // the tensor of the first layer's GI_NORM_ATTN; NULL: see norms
    const char *output_norm; // the tensor of the norm before the output; NULL: "output_norm"
    // Layers that store a state in place of keys and values, and of two towers the layers that
    // connect them (gi_layer_is_other). NULL: all layers must have heads of q, k and v.
    const struct gi_layer_tables *others;
    const struct gi_layer_tables *networks; // layers of GI_LAYER_NETWORK; may be NULL
    // The family of a mixture's layers that have no experts, such as the n_leading first; this
    // family's norms must include its norms. NULL: all layers must have experts.
    const struct gi_model_family *leading;
    // The family to use for files of this name that have experts; NULL: this one.
    const struct gi_model_family *with_experts;
    // The family to use for files of this name that have other_tensor, named without its suffix.
    const struct gi_model_family *other;
    const char *other_tensor; // "blk.%u.attn_q_norm", of the first layer
};

// Returns the tables that describe a layer: of the family, or of the one of leading layers.
struct gi_layer_tables gi_model_family_tables(const struct gi_model_family *family,
                                              const struct gi_hparams *hparams, uint32_t layer);
// Records a layer of any kind.
void gi_model_family_record(const struct gi_model_family *family, struct gi_graph *graph,
                            uint32_t layer);

// Returns the family of a general.architecture, or NULL if it is unknown.
const struct gi_model_family *gi_model_family_find(const char *name, size_t size);
#define GI_FAMILY_NAMES_SIZE 800
// Writes the known values of general.architecture, "llama, ...", and returns names.
const char *gi_model_family_names(char names[GI_FAMILY_NAMES_SIZE]);
