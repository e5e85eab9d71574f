// Precision, said once for every kernel.
precision highp float;
precision highp int;
