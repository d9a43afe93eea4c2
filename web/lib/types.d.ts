/** What the three adapters share. Times are seconds, bitrates kbit/s. */

/** What a viewer values: the weights of quality, switches and stalls. */
export interface Weights {
    mu: [quality: number, switches: number, stalls: number];
    utility?: 'linear' | 'log' | 'pamoe';
}

export interface Options {
    /** Where the daemon answers; default: where the page came from. */
    server?: string;
    /** What the viewer values: a profile's name, or own weights; null: say nothing. Default: the
     *  manifest's hint; without one, nothing. */
    profile?: string | Weights | null;
    /** Names the video in the daemon's records. */
    contentId?: string;
    /** How long a chunk may be held for an answer, in milliseconds (300). Three times that where a
     *  session is opened, and before it as long again for the indexes of a SegmentBase. */
    timeoutMs?: number;
    /** Whether the daemon may have a chunk on its way given up for another level (true). Not in Shaka. */
    abandon?: boolean;
    /** Decides what the daemon did not, at most timeoutMs later; null leaves it to the player. */
    fallback?: (question: Question) => Local | Promise<Local>;
    /** Short for on('decision', ...). */
    onDecision?: (answer: Decision) => void;
}

/** A level, alone or with whatever else is to appear in the event. */
export type Local = number | { level: number } | null | undefined;

/** The whole state of a player: the body of POST /v1/decide. */
export interface Question {
    profile?: string;
    mu?: Weights['mu'];
    utility?: Weights['utility'];
    ladder_kbps: number[];
    chunk_s: number;
    /** 0: live, or not known */
    chunks: number;
    chunk: number;
    buffer_s: number;
    buffer_max_s: number;
    /** -1: none */
    last_level: number;
    /** of the last chunks, at most 8, oldest first */
    throughput_kbps: number[];
    download_s: number[];
    /** of the chunk to choose, by level; absent when not known */
    next_bytes?: number[];
}

/** What the daemon said about one chunk; of a local decision the first three, and mode. */
export interface Answer {
    chunk: number;
    /** index into the ladder, lowest bitrate first */
    level: number;
    kbps: number;
    mode: 'greedy' | 'sample' | 'merge' | 'fallback' | 'local';
    /** version of the weights that decided */
    policy?: number;
    /** which expert was in charge; -1: none or all */
    expert?: number;
    /** of the levels */
    probabilities?: number[];
    /** how it was decided; without a hint by one of the last four */
    by?: 'router' | 'default' | 'mean-hint' | 'identify' | 'merge';
    /** only when true: levels were withheld, as the session begins or they would likely empty a short buffer */
    guarded?: boolean;
    /** expected return, in units of the reward */
    value?: number;
    /** of probabilities, in nats */
    entropy?: number;
}

export type Decision = Answer & { latency_s: number };

/** Who chose a chunk: the daemon, the page's own `fallback`, or the player. */
export type By = 'abrd' | 'local' | 'player';

export interface State {
    /** Who chose the chunk that was requested last. */
    mode: 'idle' | By;
    /** Why it was not the daemon; '' when it was. */
    reason: string;
    session: string | null;
    /** As the daemon understood it; 'custom' for own weights. */
    profile: string | null;
    /** From the manifest's arrival to the first picture; NaN before. */
    startupS: number;
}

export interface Events {
    /** A session was opened. */
    session: {
        session: string;
        profile: string;
        hinted: boolean;
        qoe: Required<Weights>;
        policy: number;
        explores: boolean;
        ladder_kbps: number[];
        chunks: number;
        chunk_s: number;
    };
    /** There is an answer for the chunk that comes next. */
    decision: Decision;
    /** A chunk was requested; decided: the level in the answer for it. level -1: not on the ladder. */
    request: { chunk: number; level: number; kbps: number; by: By; decided: number | null };
    /** A chunk on its way was given up, and is fetched at another level: another request. */
    abandon: {
        chunk: number;
        level: number;
        kbps: number;
        /** the level that was on its way */
        from: number;
        /** that had come, elapsed_s after the request */
        bytes: number;
        elapsed_s: number;
        /** media in the buffer; 0 before the first picture */
        buffer_s: number;
    };
    /** A chunk has arrived. */
    chunk: {
        chunk: number;
        level: number;
        kbps: number;
        bytes: number;
        download_s: number;
        rebuffer_s: number;
        buffer_s: number;
        by: By;
    };
    /** The daemon took the last chunk's report. */
    report: { chunk: number; reward: number };
    /** Mode, reason, session, profile or startupS changed. */
    state: State;
    /** A request to the daemon failed; status 0: no answer, or none that the browser shows to this
     *  page; 200: the answer is not JSON. */
    error: { where: string; status: number; field: string; detail: string };
}

export interface Handle {
    /** Takes the plugin out; the player goes on by itself. */
    detach(): void;
    readonly state: State;
    /** Returns what takes the listener away. */
    on<E extends keyof Events>(event: E, fn: (data: Events[E]) => void): () => void;
}
