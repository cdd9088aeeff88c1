// The d3 that an installed package carries comes as an AMD module; this runs such a module once and names it `d3`.
"use strict";
{
  const loaded = new Map();
  const define = (name, needs, factory) => {
    const made = {};
    factory(made);
    loaded.set(name, made);
    globalThis.d3 = Object.freeze(made);
  };
  const require = { defined: (name) => loaded.has(name) };
  Object.assign(globalThis, { define, require });
}
