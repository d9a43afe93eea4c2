/**
 * post.js - one question to the daemon.
 *
 * @module abrd/post
 */

/** A request that failed; status 0 = no answer at all. */
export class AbrdError extends Error {
    constructor(where, status, body) {
        super(body?.error ?? (status ? `HTTP ${status}` : 'no answer'));
        Object.assign(this, {
            where, status, field: body?.field ?? '', detail: body?.detail ?? '',
        });
    }
}

/** POSTs JSON as text/plain and reads JSON; throws AbrdError. */
export async function post(url, body, signal) {
    const where = new URL(url, globalThis.location?.href).pathname;
    let response, reply = null;
    try {
        response = await fetch(url, {
            method: 'POST', body: JSON.stringify(body), signal,
            credentials: 'omit', cache: 'no-store',
        });
        reply = JSON.parse(await response.text());
    } catch {
        throw new AbrdError(where, response?.ok === false ? response.status : 0, null);
    }
    if (!response.ok) throw new AbrdError(where, response.status, reply);
    return reply;
}
