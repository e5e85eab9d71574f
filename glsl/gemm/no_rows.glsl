// The index of a partial result of gemv_vocab.comp that had no rows: no row has it, and nothing is wrong.
const uint no_rows_index = 0xFFFFFFFEu;
