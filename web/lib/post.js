/**
 * post.js - one question to the daemon.
 *
 * @module abrd/post
 */

/** An Error with field and detail of the daemon's answer; status 0 = no answer at all. */
const failure = (where, status, body) => Object.assign(
    new Error(body?.error ?? (status ? `HTTP ${status}` : 'no answer')),
    { field: '', detail: '' }, body, { where, status });

/** POSTs JSON as text/plain and reads JSON; throws such an error. */
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
        throw failure(where, response?.ok === false ? response.status : 0);
    }
    if (!response.ok) throw failure(where, response.status, reply);
    return reply;
}
