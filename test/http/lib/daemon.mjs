// daemon.mjs - starts the built daemon on a free port, and counts what a test script checked.
import { spawn, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import net from 'node:net';
import { PATIENCE_S, figure, until } from './tools.mjs';

export { until };

export const ABRD = process.env.ABRD ?? 'build/abrd';

export const folder = mkdtempSync(join(tmpdir(), 'abrd-http-'));
const running = new Set();
process.on('exit', () => {
    for (const d of running) d.child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
});

/** A small policy, trained once per script; which one does not matter here. */
export function policy() {
    const file = join(folder, 'policy.safetensors');
    if (!existsSync(file)) {
        execFileSync(ABRD, ['train', '--steps', '2000', '--seed', '7', '--quiet', '--out', file],
            { stdio: 'ignore' });
    }
    return file;
}

/** Every update with finite weights is published: for tests of what follows, whose viewers teach nothing. */
export const PUBLISH_ALL = ['--exam-links', '0', '--tolerance', '1'];

/** Runs `abrd serve` until it says where it is, or ends. */
export class Daemon {
    static start(args = [], program = ABRD) {
        return new Daemon(['--port', '0', '--policy', policy(), '--workers', '2', ...args], program).ready;
    }

    /** `before` is a command that runs the program, with the options of spawn. */
    constructor(args, program = ABRD, { before = [], ...options } = {}) {
        this.output = '';
        const [first, ...others] = [...before, program, 'serve', ...args];
        this.child = spawn(first, others, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
        running.add(this);
        this.exited = new Promise(resolve => this.child.on('exit', (code, signal) => {
            running.delete(this);
            resolve({ code, signal });
        }));
        this.ready = new Promise(resolve => {
            const hear = data => {
                this.output += data;
                const found = /at (http:\/\/\S+)\/ /.exec(this.output);
                if (found && !this.url) {
                    this.url = found[1];
                    this.port = Number(new URL(this.url).port);
                    resolve(this);
                }
            };
            this.child.stdout.on('data', hear);
            this.child.stderr.on('data', hear);
            this.exited.then(() => resolve(this));
        });
    }

    kill(signal) {
        this.child.kill(signal);
        return this.exited;
    }

    async stop() {
        return this.kill('SIGTERM');
    }

    /** Asks again while the disk stalls for half a second, as on a busy machine. Any other 503 is an answer. */
    async call(method, path, body, headers = {}) {
        const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
        const [r, raw] = await until(`an answer to ${method} ${path}`, async () => {
            const answer = await fetch(this.url + path, { method, body: text, headers, redirect: 'manual' }), said = await answer.text();
            return !(answer.status === 503 && said.includes('the disk has not answered')) && [answer, said];
        });
        let json;
        try { json = JSON.parse(raw); } catch { /* not every answer is JSON */ }
        return { status: r.status, headers: r.headers, text: raw, json };
    }

    /** One figure of /metrics; NaN when it is not there. */
    async metric(name) {
        return figure((await this.call('GET', '/metrics')).text, name);
    }

    /** Sends bytes as they are, resolves with all that comes back until the end. */
    raw(text, { keep = false } = {}) {
        return new Promise((resolve, reject) => {
            let got = '';
            const s = net.connect(this.port, '127.0.0.1', () => {
                s.write(text);
                if (!keep) s.end();
            });
            s.setTimeout(1000 * PATIENCE_S, () => { s.destroy(); reject(new Error('no answer')); });
            s.on('data', d => { got += d; });
            s.on('close', () => resolve(got));
            s.on('error', e => (e.code === 'ECONNRESET' ? resolve(got) : reject(e)));
        });
    }
}

let passed = 0, failed = 0;

/** Marks a daemon that a test starts for the tests after it. */
export const lasting = d => Object.assign(d, { lasting: true });

/** Runs one test, then stops the daemons that it started, except the lasting ones. */
export async function test(name, fn) {
    const before = new Set(running);
    try {
        await fn();
        passed++;
    } catch (e) {
        failed++;
        console.log(`FAILED ${name}: ${e.stack ?? e}`);
    }
    await Promise.all([...running].filter(d => !before.has(d) && !d.lasting).map(d => d.stop()));
}

export function done() {
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed || !passed ? 1 : 0);
}
