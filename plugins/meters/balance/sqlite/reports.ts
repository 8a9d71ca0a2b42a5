/**
 * The thread for reports and audits. It takes 15 MB, so it starts with the first request and ends when it
 * has been idle for a while. Its auditor's state is stored as bytes, so that the next thread's audit can
 * continue.
 */
import { stat } from 'node:fs/promises';
import type { AuditReport } from '../audit-report.ts';
import type { Answer, Operation, OperationName } from '../operations.ts';
import { Thread, type Side } from './thread.ts';

/** Milliseconds within which two writes may leave the same modification time. */
const sameTime = 1000;

export class Reports {
  readonly #file: string;
  readonly #start: (audited: Uint8Array | undefined) => Side;
  readonly #patience: number;
  #thread: Thread | undefined;
  #asked = 0;
  #ending: NodeJS.Timeout | undefined;
  #ended: Promise<void> = Promise.resolve();
  /** The state of the last thread's auditor. */
  #audited: Uint8Array | undefined;
  /** The last report, and when the file was last written before it. */
  #last: { readonly report: AuditReport; readonly written: number } | undefined;

  constructor(file: string, start: (audited: Uint8Array | undefined) => Side, patience: number) {
    this.#file = file;
    this.#start = start;
    this.#patience = patience;
  }

  async ask<Name extends OperationName>(
    operation: Operation & { readonly name: Name },
  ): Promise<Answer<Name>> {
    clearTimeout(this.#ending);
    this.#asked += 1;
    try {
      return await this.#getThread().ask<Name>(operation);
    } finally {
      this.#asked -= 1;
      if (this.#asked === 0) this.#ending = setTimeout(() => void this.#endThread(), this.#patience).unref();
    }
  }

  /** Returns the last report again if nothing was written to the file since. */
  async audit(): Promise<AuditReport> {
    const written = await this.#readWritten();
    if (this.#last && this.#last.written === written) return this.#last.report;
    for (;;) {
      const report = await this.ask({ name: 'auditPart', argument: undefined });
      if (!report) continue;
      this.#last = written === undefined ? undefined : { report, written };
      return report;
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#ending);
    await Promise.all([this.#thread?.close(), this.#ended]);
    clearTimeout(this.#ending);
  }

  #getThread(): Thread {
    if (this.#thread) return this.#thread;
    const thread = new Thread(() => this.#start(this.#audited));
    thread.open().catch(() => undefined);
    return (this.#thread = thread);
  }

  async #endThread(): Promise<void> {
    const thread = this.#thread;
    if (!thread) return;
    const known = await thread.ask({ name: 'getAuditState', argument: undefined }).catch(() => undefined);
    if (this.#asked > 0) return;
    this.#audited = known ?? this.#audited;
    this.#thread = undefined;
    this.#ended = thread.close();
    await this.#ended;
  }

  /** When any process last wrote to the log; undefined if another write could still leave the same time. */
  async #readWritten(): Promise<number | undefined> {
    const { mtimeMs } = await stat(`${this.#file}-wal`);
    return Date.now() - mtimeMs > sameTime ? mtimeMs : undefined;
  }
}
