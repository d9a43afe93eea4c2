/**
 * post.js - one question to the daemon.
 *
 * @module abrd/post
 */

/**
 * POSTs JSON as text/plain and reads JSON. Throws an Error with field and detail of the daemon's
 * answer; status 0: no answer at all.
 */
export async function post(url, body, signal) {
    let status = 0, reply;
    try {
        const response = await fetch(url, {
            method: 'POST', body: JSON.stringify(body), signal, credentials: 'omit',
        });
        if (!response.ok) status = response.status;
        reply = await response.json();
    } catch { /* then there is none */ }
    if (reply && !status) return reply;
    throw Object.assign(new Error(reply?.error ?? (status ? `HTTP ${status}` : 'no answer')),
        { field: '', detail: '' }, reply, { where: /\/v1.*/.exec(url)[0], status });
}
