// run.mjs - the rig's own tests, and the adapters in the players' real code on a virtual clock.
import { finish } from '../web/harness.mjs';
import { playerTests } from './adapters.mjs';
import { unitTests } from './unit.mjs';

await unitTests();
await playerTests();
finish();
