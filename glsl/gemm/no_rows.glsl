// The index in a partial result of gemv_vocab.comp whose group had no rows; no row has it.
const uint no_rows_index = 0xFFFFFFFEu;
