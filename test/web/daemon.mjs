// daemon.mjs - a real abrd for the browser tests: started, killed, started again on its port; and a
// proxy that makes it far away.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { freePort, untilStored } from '../http/lib/tools.mjs';
import { until } from './harness.mjs';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export class Daemon {
    /**
     * @param {Record<string, string|number|boolean>} config lines of its configuration file
     * @param {{stored?: boolean}} [options] stored: with a folder of data; while its disk stalls the daemon refuses (503)
     */
    constructor(config = {}, { stored = false } = {}) {
        this.stored = stored;
        this.data = fs.mkdtempSync(path.join(os.tmpdir(), 'abrd-web-'));
        // the small video of the tests, not the demo's film
        this.config = { 'media-dir': 'build/media', ...config };
        this.log = '';
    }

    get url() { return `http://127.0.0.1:${this.port}`; }

    async start() {
        this.port ??= await freePort();
        const file = path.join(this.data, 'abrd.conf');
        fs.writeFileSync(file, Object.entries(this.config).map(([k, v]) => `${k} = ${v}\n`).join(''));
        this.process = spawn(path.join(ROOT, 'build/abrd'), ['serve', '--port', String(this.port),
            ...(this.stored ? ['--data', path.join(this.data, 'var')] : []), '--config', file, '--drain', '0'], { cwd: ROOT });
        const { process } = this;
        for (const out of [process.stdout, process.stderr])
            out.on('data', text => { this.log += text; });
        this.gone = new Promise(done => process.on('exit', done));
        let exited = false;
        this.gone.then(() => { exited = true; });
        await until(async () => {
            if (exited) throw new Error(`abrd serve has stopped:\n${this.log}`);
            const answer = await fetch(`${this.url}/readyz`).catch(() => null);
            return answer?.ok;
        }, 'the daemon to be ready');
        return this;
    }

    async kill(signal = 'SIGKILL') {
        this.process.kill(signal);
        return this.gone;
    }

    async stop() {
        await this.kill('SIGTERM');
        fs.rmSync(this.data, { recursive: true, force: true });
    }

    async get(where) {
        const answer = await untilStored(() => fetch(this.url + where));
        if (!answer.ok) throw new Error(`GET ${where}: ${answer.status} ${await answer.text()}`);
        return answer.json();
    }

    /** JSON there and back; null: no content. */
    async send(method, where, body, headers = {}) {
        const json = body && { 'content-type': 'application/json' };
        const answer = await untilStored(() => fetch(this.url + where,
            { method, body: body && JSON.stringify(body), headers: { ...json, ...headers } }));
        if (!answer.ok) throw new Error(`${method} ${where}: ${answer.status} ${await answer.text()}`);
        return answer.status === 204 ? null : answer.json();
    }
}

/** Passes everything on to `target` after `delayMs`. */
export async function distant(target, delayMs) {
    const proxy = http.createServer((q, r) => {
        setTimeout(() => {
            const onward = http.request(target + q.url, { method: q.method, headers: q.headers }, a => {
                r.writeHead(a.statusCode, a.headers);
                a.pipe(r);
            });
            onward.on('error', () => r.destroy());
            q.pipe(onward);
        }, delayMs);
    });
    await new Promise(done => proxy.listen(0, '127.0.0.1', done));
    return {
        url: `http://127.0.0.1:${proxy.address().port}`,
        stop: () => { proxy.closeAllConnections(); return new Promise(done => proxy.close(done)); },
    };
}
