import type { Qoe, Question, Seen, Weights } from './types.js';

/** A decision of the policy in the page; the option `fallback` of `attach` may return it. */
export interface LocalDecision {
    level: number;
    kbps: number;
    /** the expert that decided */
    expert: number;
    /** version of the weights */
    policy: number;
    probabilities: number[];
}

/** A policy that decides; its weights never change. */
export class Policy {
    /** @param weights the answer of GET /v1/policy/weights; throws if it is truncated */
    constructor(weights: ArrayBuffer);
    readonly version: number;
    readonly actions: number;
    /** @param weights what the viewer values, or the name of a built-in profile */
    decide(question: Question, weights: Weights | Qoe | string, seen?: Partial<Seen> & { lambda?: number }): LocalDecision;
}

export interface LocalPolicyOptions {
    /** Address of the daemon; default: the origin of the page. */
    server?: string;
    /** Seconds between requests for new weights (300); 0: only once. */
    refreshS?: number;
}

export interface LocalPolicy {
    /** null without weights, or for an unknown profile. */
    fallback(question: Question, seen?: Partial<Seen> & { lambda?: number }): LocalDecision | null;
    /** Requests new weights; returns whether there are weights. */
    refresh(): Promise<boolean>;
    /** Whether the first request gave weights. */
    readonly ready: Promise<boolean>;
    readonly version: number | null;
    stop(): void;
}

/** Keeps a copy of the daemon's weights and profiles. */
export function localPolicy(options?: LocalPolicyOptions): LocalPolicy;
