// run.mjs - the tests of plugin and page: first without, then with a browser.
import { browserTests } from './browser.mjs';
import { pluginTests } from './plugin.mjs';
import { finish } from './harness.mjs';
import { recordTests } from './record.mjs';

await pluginTests();
await recordTests();
await browserTests();
finish();
