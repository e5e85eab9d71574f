// The embeddings of texts: the list that glinfer_embed needs after those of prompts, created by its
// first call.
#ifndef GI_ENGINE_TEXT_EMBEDDING_H
#define GI_ENGINE_TEXT_EMBEDDING_H

#include "engine/session/session.h"

// Creates session->embedder if it does not exist. Fails as gi_tables_prepare does.
bool gi_embedder_open(struct glinfer_session *session, struct glinfer_error *err);
// Destroys the session's embedder, if it has one.
void gi_embedder_close(struct glinfer_session *session);

#endif
