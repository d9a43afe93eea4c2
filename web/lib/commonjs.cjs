// commonjs.cjs - what require('@abrd/player') gets where require cannot load ES modules.
throw new Error("@abrd/player is an ES module: write import { attach } from '@abrd/player/dashjs', or in CommonJS " +
    "const { attach } = await import('@abrd/player/dashjs')");
