/**
 * What an auditor knows of the entries it was given: plain data, so that another one can continue from it
 * after the thread of the first has ended.
 */
import type { Nano } from '../../../core/index.ts';
import type { Finding } from './audit-report.ts';
import type { KnownBudgets } from './budgets/audit.ts';
import type { KnownRollups } from './calls/rollup-audit.ts';
import type { Entry } from './store.ts';

export interface Sums {
  credits: Nano;
  available: Nano;
  reserved: Nano;
  revenue: Nano;
  /** What was owed above reservations. An account may be below zero by this much. */
  excess: Nano;
}

interface Open {
  readonly call: string;
  readonly account: string;
  readonly amount: Nano;
  readonly budgets: string | undefined;
}

export interface Known {
  readonly accounts: Map<string, Sums>;
  readonly keys: Map<string, { used: Nano; pending: Nano }>;
  readonly open: Map<number, Open>;
  /**
   * Posts that took their whole reservation. Whether their cost is right is only known when no overage
   * follows.
   */
  readonly full: Map<number, { readonly cost: Nano; readonly entry: Entry }>;
  readonly adjusted: Set<number>;
  readonly budgets: KnownBudgets;
  readonly rollups: KnownRollups;
  findings: Finding[];
  broken: number;
  entries: number;
  /** The number of the last entry it was given. The next audit starts after it. */
  last: number;
  /** How many audits it has reported. */
  audits: number;
}

export function nothingKnown(): Known {
  return {
    accounts: new Map(),
    keys: new Map(),
    open: new Map(),
    full: new Map(),
    adjusted: new Set(),
    budgets: { periods: new Map(), touched: undefined },
    rollups: { byParties: new Map(), byHour: new Map() },
    findings: [],
    broken: 0,
    entries: 0,
    last: 0,
    audits: 0,
  };
}
