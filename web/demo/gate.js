/**
 * gate.js - the switch "kill the daemon" of the demo.
 *
 * While it is closed, this page's questions to the daemon fail at once, as when nothing listens at its
 * address. The daemon itself goes on, since it also sends the video and its statistics.
 *
 * @module demo/gate
 */
const QUESTION = /\/v1\/(sessions|decide)\b/;

/** @param {() => boolean} closed */
export function install(closed) {
    const plain = window.fetch.bind(window);
    window.fetch = (url, how) => closed() && QUESTION.test(String(url.url ?? url)) ?
        Promise.reject(new TypeError('the demo holds this request back')) : plain(url, how);
}
