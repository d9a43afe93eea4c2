import type { Question, Weights } from './types.js';

/** What the policy in the page chose; may be returned by the option `fallback` of `attach`. */
export interface LocalDecision {
    level: number;
    kbps: number;
    /** which expert was in charge */
    expert: number;
    /** version of the weights */
    policy: number;
    probabilities: number[];
}

/** Weights that decide; never changed once made. */
export class Policy {
    /** @param weights what GET /v1/policy/weights answers; throws when that is not whole */
    constructor(weights: ArrayBuffer);
    readonly version: number;
    readonly actions: number;
    decide(question: Question, weights: Weights): LocalDecision;
}

export interface LocalPolicyOptions {
    /** Where the daemon answers; default: where the page came from. */
    server?: string;
    /** How often new weights are asked for, in seconds (300); 0: never again. */
    refreshS?: number;
}

export interface LocalPolicy {
    /** null while there are no weights, or for a profile that is not known. */
    fallback(question: Question): LocalDecision | null;
    /** Asks for new weights; whether there are any now. */
    refresh(): Promise<boolean>;
    /** Whether the first ones came. */
    readonly ready: Promise<boolean>;
    readonly version: number | null;
    stop(): void;
}

/** Keeps the daemon's weights and profiles at hand. */
export function localPolicy(options?: LocalPolicyOptions): LocalPolicy;
