// -127 -104 -83 -65 -49 -35 -22 -10 1 13 25 38 53 69 89 113, the codes of IQ4_NL and IQ4_XS.
const uvec4 iq4_codes = uvec4(0xBFAD9881u, 0xF6EADDCFu, 0x26190D01u, 0x71594535u);
