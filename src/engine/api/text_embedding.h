// The embeddings of texts: the list that glinfer_embed needs after those of prompts, created by its
// first call.
#ifndef GI_ENGINE_TEXT_EMBEDDING_H
#define GI_ENGINE_TEXT_EMBEDDING_H

#include "engine/session/session.h"

// Makes the session's embedder, unless it has one. Fails as gi_tables_prepare does.
bool gi_embedder_open(struct glinfer_session *session, struct glinfer_error *err);
// Accepts NULL.
void gi_embedder_destroy(struct gi_embedder *embedder);

#endif
