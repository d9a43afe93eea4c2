/**
 * post.js - one request to the daemon.
 *
 * @module abrd/post
 */

/**
 * POSTs JSON as text/plain and returns JSON. Throws an Error with field and detail of the daemon's
 * answer; status 0: no answer, or none that the browser shows to this page.
 */
export async function post(url, body, signal) {
    let status = 0, reply;
    try {
        const response = await fetch(url, {
            method: 'POST', body: JSON.stringify(body), signal, credentials: 'omit',
        });
        ({ status } = response);
        reply = await response.json();
        if (response.ok && reply) return reply;
    } catch { /* no answer, or not JSON */ }
    throw Object.assign(new Error(reply?.error ?? (status ? 'the answer is not JSON' : 'no answer')),
        { field: '', detail: '' }, reply, { where: /\/v1.*/.exec(url)[0], status });
}
