// 0 1 2 3 4 6 8 12, and the same below zero: twice the values of E2M1, of MXFP4 and NVFP4.
const uvec4 e2m1_codes = uvec4(0x03020100u, 0x0C080604u, 0xFDFEFF00u, 0xF4F8FAFCu);
