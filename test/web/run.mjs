// run.mjs - the tests of plugin, package and pages: first without, then with a browser.
import { abandonTests } from './abandon.mjs';
import { adapterTests } from './adapters.mjs';
import { apiTests } from './api.mjs';
import { browserTests } from './browser.mjs';
import { cmcdTests } from './cmcd.mjs';
import { dashboardTests } from './dashboard.mjs';
import { outageTests } from './outage.mjs';
import { packageTests } from './package.mjs';
import { pluginTests } from './plugin.mjs';
import { finish } from './harness.mjs';
import { qoeTests } from './qoe.mjs';
import { recordTests } from './record.mjs';
import { trialTests } from './trial.mjs';

await pluginTests();
await adapterTests();
await abandonTests();
await outageTests();
await qoeTests();
await recordTests();
await packageTests();
await browserTests();
await cmcdTests();
await dashboardTests();
await trialTests();
await apiTests();
finish();
