// begin.mjs - starts a player in a page, by itself or with the plugin. The rig and a real browser run this module:
// it uses nothing but its arguments.

/** Objects merged deeply into a new one; arrays and functions are values. */
export const merge = (...all) => all.reduce((into, from = {}) => {
    for (const [k, v] of Object.entries(from))
        into[k] = v && typeof v === 'object' && !Array.isArray(v) ? merge(into[k] ?? {}, v) : v;
    return into;
}, {});

/**
 * begin[kind](globals, video, url, options): globals has the player's library and the plugin's attach(); `own` are
 * settings of the player, `abrd` the options of attach() or null. Called back: listen(handle) with the plugin's handle,
 * over() when the player declares the end, failed(text).
 * @returns {{player: object, stop: () => Promise|void}}
 */
export const begin = {
    dashjs({ dashjs, attach }, video, url, { own, abrd, listen, over, logLevel = 0 }) {
        const player = dashjs.MediaPlayer().create();
        player.updateSettings(merge({ debug: { logLevel }, streaming: { lastBitrateCachingInfo: { enabled: false },
            lastMediaSettingsCachingInfo: { enabled: false } } }, own));
        if (abrd) listen(attach(player, abrd));
        player.initialize(video, url, true);
        // dash.js may open the source again after the last picture
        player.on('playbackEnded', e => { if (e.isLast !== false) over(); });
        return { player, stop: () => player.destroy() };
    },
    hlsjs({ Hls, attach }, video, url, { own, abrd, listen }) {
        const handle = abrd && attach(Hls, abrd);
        if (handle) listen(handle);
        const player = new Hls(merge({ enableWorker: false, ...(handle && { abrController: handle.controller }) }, own));
        player.loadSource(url);
        player.attachMedia(video);
        video.play();
        return { player, stop: () => player.destroy() };
    },
    shaka({ shaka, attach }, video, url, { own, abrd, listen, failed }) {
        shaka.polyfill.installAll();
        const player = new shaka.Player();
        player.configure(own ?? {});
        // Shaka gives up after two attempts, and leaves it to the page to go on
        player.configure({ streaming: { failureCallback: _error => { player.retryStreaming(1); } } });
        player.attach(video).then(() => {
            if (abrd) listen(attach(player, abrd));
            return player.load(url);
        }).then(() => video.play()).catch(e => failed(`shaka ${e.code} ${e.message}`));
        return { player, stop: () => player.destroy() };
    },
};
