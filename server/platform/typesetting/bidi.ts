import bidiFactory from 'bidi-js';

/** The bidirectional algorithm of Unicode. The types of the package describe it as a module of the other kind. */
export const bidi = (bidiFactory as unknown as typeof bidiFactory.default)();
