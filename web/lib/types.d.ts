/** Types of the three adapters. Times are seconds, bitrates kbit/s. */

/** What a viewer values, relative to the profile `standard`; 1 if absent. */
export interface NamedWeights {
    /** of a point of quality */
    quality?: number;
    /** of a change of quality */
    switches?: number;
    /** of a second of stall */
    stalls?: number;
    /** of a second before the first picture */
    startup?: number;
}

/** A viewer's weights: named, in points of quality; or the papers', in Mbit/s. */
export type Weights = { weights: NamedWeights } |
    { mu: [quality: number, switches: number, stalls: number]; utility?: 'linear' | 'log' | 'pamoe' };

/** Weights as the daemon states them, with the ceilings of a profile. */
export interface Qoe {
    weights?: Required<NamedWeights>;
    mu?: number[];
    utility: 'points' | 'linear' | 'log' | 'pamoe';
    /** ceiling of stalled / (stalled + played); 0: none */
    stall_ratio_max?: number;
    /** ceiling of the wait for the first picture; 0: none */
    startup_max_s?: number;
}

/** What the page says of a session, for reports: values of 1 to 31 characters of A-Z a-z 0-9 . _ - */
export interface Labels {
    device?: string;
    cdn?: string;
    country?: string;
    app?: string;
    /** for example wifi or cellular; the first level also depends on it */
    network?: string;
    experiment?: string;
    tenant?: string;
}

export interface Options {
    /** Address of the daemon; default: the origin of the page. */
    server?: string;
    /** The viewer's profile by name, or weights; null: no hint. Default: the hint of the manifest,
     *  if it has one. */
    profile?: string | Weights | null;
    /** What the viewer values; short for the profile { weights }. */
    weights?: NamedWeights | null;
    /** Points (0 to 100) of each level, lowest bitrate first, or a function that returns those of a chunk;
     *  null: not known. Default: those of the manifest; without any the daemon uses a curve of the bitrates. */
    quality?: number[] | ((chunk: number, ladder_kbps: number[]) => number[] | null | undefined) | null;
    /** Names the video in the daemon's records. */
    contentId?: string;
    /** observe: the player keeps its own rules, and the daemon only records what it would have decided; nothing is held.
     *  decide: the daemon decides. Default: as the daemon's settings or its trial say. */
    mode?: 'decide' | 'observe';
    /** Names the viewer, in up to 128 bytes, so that a trial gives all sessions of a viewer the same arm. The
     *  daemon keeps a keyed hash of it only. */
    viewer?: string;
    /** false: the session never explores, so nothing learns from it. Default: as the daemon's settings say. */
    explore?: boolean;
    /** Stored with the session; lists, reports and figures can be filtered by them. */
    labels?: Labels;
    /** The longest time that a chunk is held for an answer, in milliseconds (300). Three times that when
     *  a session is opened, and as long again before it for the indexes of SegmentBase. */
    timeoutMs?: number;
    /** Length of the buffer that the plugin asks the player for, in seconds (60); null: the player's own
     *  settings stay. */
    bufferS?: number | null;
    /** Cap of the bitrate in kbit/s, also as a function of the levels, which is called before each chunk;
     *  null: none. The caps of dash.js and hls.js count as well. */
    maxKbps?: number | null | ((levels: { kbps: number; height: number | null }[]) => number | null | undefined);
    /** Cap of the picture's height in pixels, also as such a function; null: none. A level counts by its height, or by
     *  9/16 of its width if that is more. */
    maxHeight?: number | null | ((levels: { kbps: number; height: number | null }[]) => number | null | undefined);
    /** What is known of the link before the first chunk, oldest first (@abrd/player/memory). */
    link?: Measured[];
    /** Whether the daemon may replace a chunk that is being downloaded by another level (true). */
    abandon?: boolean;
    /** Decides when the daemon does not, within timeoutMs; null: the player decides. */
    fallback?: (question: Question, seen: Seen) => Local | Promise<Local>;
    /** Short for on('decision', ...). */
    onDecision?: (answer: Decision) => void;
}

/** A download: its bytes, and its seconds from the request to the last byte. */
export interface Measured {
    bytes: number;
    download_s: number;
}

/** What the viewer has seen of the session, in seconds; the start is no stall. */
export interface Seen {
    stalledS: number;
    playedS: number;
}

/** A level, alone or with further members for the event. */
export type Local = number | { level: number } | null | undefined;

/** The whole state of a player: the body of POST /v1/decide. */
export interface Question {
    profile?: string;
    weights?: NamedWeights;
    mu?: [quality: number, switches: number, stalls: number];
    utility?: 'linear' | 'log' | 'pamoe';
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
    /** cap of this chunk; absent: all levels are allowed */
    max_kbps?: number;
    /** bitrate of the sound that comes with the video; throughput_kbps is then that of the whole link */
    other_kbps?: number;
    /** of the chunk to decide, by level; absent if not known */
    next_bytes?: number[];
    /** points (0 to 100) by level; absent if not known, then a curve of the bitrates is used */
    quality?: number[];
    /** points of the chunk to decide, by level; absent or null if not known */
    next_quality?: (number | null)[];
    /** points of the last chunk, as it was fetched; absent: those of its level */
    last_quality?: number;
    /** height of the picture in pixels, by level; absent if not known */
    height?: number[];
}

/** The daemon's decision for one chunk; a local decision has the first three members, and mode. */
export interface Answer {
    chunk: number;
    /** index into the ladder, lowest bitrate first */
    level: number;
    kbps: number;
    mode: 'greedy' | 'sample' | 'merge' | 'fallback' | 'observe' | 'local';
    /** points (0 to 100) of this chunk at this level, and where they come from */
    quality?: number;
    quality_from?: 'chunk' | 'level' | 'curve';
    /** version of the weights that decided */
    policy?: number;
    /** the expert that decided; -1: none or all */
    expert?: number;
    /** by level */
    probabilities?: number[];
    /** how it was decided. Without a hint: default, mean-hint, identify or merge. arm: by an arm of a trial */
    by?: 'router' | 'default' | 'mean-hint' | 'identify' | 'merge' | 'arm';
    /** present only if true: some levels were not offered, because the session begins, or because they
     *  would likely empty a short buffer */
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
    /** Why the daemon did not choose it; '' if it did. */
    reason: string;
    session: string | null;
    /** As the daemon uses it; 'custom' for weights. */
    profile: string | null;
    /** From the arrival of the manifest to the first picture; NaN before. */
    startupS: number;
}

export interface Events {
    /** A session was opened. */
    session: {
        session: string;
        profile: string;
        hinted: boolean;
        qoe: Qoe;
        policy: number;
        explores: boolean;
        ladder_kbps: number[];
        chunks: number;
        chunk_s: number;
        labels?: Labels;
        /** points of each level, as the daemon got them */
        quality?: number[];
        /** of the picture in pixels, by level */
        height?: number[];
    };
    /** There is a decision for the next chunk. */
    decision: Decision;
    /** A chunk was requested; decided: the level of the decision for it. level -1: not on the ladder. */
    request: { chunk: number; level: number; kbps: number; by: By; decided: number | null };
    /** A chunk was abandoned and is downloaded at another level, with another request. */
    abandon: {
        chunk: number;
        level: number;
        kbps: number;
        /** the abandoned level */
        from: number;
        /** received until elapsed_s after the request */
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
        /** stall before its arrival; of the source's first chunk the wait since its request, which is the
         *  start and no stall */
        rebuffer_s: number;
        buffer_s: number;
        by: By;
    };
    /** The daemon has accepted the report of the last chunk. */
    report: { chunk: number; reward: number };
    /** Mode, reason, session, profile or startupS changed. */
    state: State;
    /** A request to the daemon failed; status 0: no answer, or none that the browser shows to this
     *  page; 200: the answer is not JSON. */
    error: { where: string; status: number; field: string; detail: string };
}

export interface Handle {
    /** Removes the plugin; the player continues with its own rules. */
    detach(): void;
    readonly state: State;
    /** Returns a function that removes the listener. */
    on<E extends keyof Events>(event: E, fn: (data: Events[E]) => void): () => void;
}
