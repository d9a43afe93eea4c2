// run.mjs - the tests of plugin and page: first without, then with a browser.
import { pluginTests } from './plugin.mjs';
import { finish } from './harness.mjs';
import { recordTests } from './record.mjs';

await pluginTests();
await recordTests();
finish();
