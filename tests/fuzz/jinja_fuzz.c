// Feeds bytes to the template language: a template, rendered for a conversation.
#include "jinja/jinja.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct glinfer_message messages[] = {
        {"system", "be"}, {"user", "<|x|> he"}, {"assistant", "a</think>b"}, {"user", "ll"}};
    const struct gi_jinja_input input = {.messages = messages,
                                         .n_messages = 4,
                                         .bos = "<s>",
                                         .bos_size = 3,
                                         .eos = "</s>",
                                         .eos_size = 4};
    struct gi_jinja_output output;
    struct gi_jinja *jinja = gi_jinja_create((const char *)data, size, NULL);
    if (jinja && gi_jinja_render(jinja, &input, &output, NULL)) {
        gi_jinja_output_finish(&output);
    }
    gi_jinja_destroy(jinja);
    return 0;
}
