// The embeddings of texts: the table that glinfer_embed needs behind those of prompts, made when it
// is called first.
#ifndef GI_ENGINE_TEXT_EMBEDDING_H
#define GI_ENGINE_TEXT_EMBEDDING_H

#include "engine/run/session.h"

// Makes the session's embedder, unless it has one. Fails as gi_tables_prepare does.
bool gi_embedder_open(struct glinfer_session *session, struct glinfer_error *err);
// Accepts NULL.
void gi_embedder_destroy(struct gi_embedder *embedder);

#endif
