// harness.mjs - named tests, one after the other; a closing line that counts.
import { PATIENCE_S, until as waitFor } from '../http/lib/tools.mjs';

let passed = 0;
const failed = [];

export async function test(name, fn) {
    const began = Date.now();
    try {
        await fn();
        passed++;
        console.log(`ok   ${name} (${Date.now() - began} ms)`);
    } catch (e) {
        failed.push(name);
        console.log(`FAIL ${name}\n     ${(e.stack ?? String(e)).replaceAll('\n', '\n     ')}`);
    }
}

export const PATIENCE_MS = 1000 * PATIENCE_S;

/** timeoutMs of the plugin: so long that a busy machine does not decide what is tested. */
export const ANSWER_MS = 60e3;

/** Waits until fn() is truthy and returns that. */
export const until = (fn, what, limitMs = PATIENCE_MS) => waitFor(what, fn, limitMs / 1000);

/** Runs jobs, two at a time: most of them wait for a link or a video, not for the processor. */
export async function sideBySide(jobs, lanes = 2) {
    const left = [...jobs];
    await Promise.all(Array.from({ length: lanes }, async () => {
        for (let job; (job = left.shift());) await job();
    }));
}

export function finish() {
    if (failed.length) console.log(`failed: ${failed.join('; ')}`);
    console.log(`${passed} passed, ${failed.length} failed`);
    process.exit(failed.length || !passed ? 1 : 0);
}
