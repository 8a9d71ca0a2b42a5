/**
 * The opaque values that a vendor hands out and accepts back: reasoning signatures, encrypted reasoning. They
 * are signed with a secret of the vendor, so that a value that was changed, shortened, moved or made up is
 * detected.
 */
import { createHmac } from 'node:crypto';

const macBytes = 192;

export class Seals {
  readonly #secret: string;
  readonly #vouched: ReadonlySet<string>;
  #count = 0;

  /** `vouched` are values that this vendor takes for its own though it did not make them. */
  constructor(secret: string, vouched: readonly string[] = []) {
    this.#secret = secret;
    this.#vouched = new Set(vouched);
  }

  #computeProof(head: string, bound: string): Buffer {
    const rounds = [0, 1, 2].map((round) =>
      createHmac('sha512', this.#secret)
        .update(JSON.stringify([round, head, bound]))
        .digest(),
    );
    return Buffer.concat(rounds);
  }

  /** A new value of a kind, valid only beside what it is bound to. */
  seal(kind: string, bound: string, encoding: 'base64' | 'base64url' = 'base64'): string {
    this.#count += 1;
    const head = `${kind}:${String(this.#count).padStart(6, '0')}`;
    return Buffer.concat([Buffer.from(`${head};`), this.#computeProof(head, bound)]).toString(encoding);
  }

  /** Whether a value is taken for its own without proof. */
  vouches(value: string): boolean {
    return this.#vouched.has(value);
  }

  /**
   * Whether a value is one of its own, bound to exactly this and, if an encoding is named, written exactly
   * so.
   */
  holds(value: string, kind: string, bound: string, encoding?: 'base64' | 'base64url'): boolean {
    if (this.#vouched.has(value)) return true;
    const bytes = Buffer.from(value, 'base64');
    if (encoding && bytes.toString(encoding) !== value) return false;
    const end = bytes.length - macBytes;
    const head = bytes.subarray(0, end - 1).toString();
    return (
      end > 1 && head.startsWith(`${kind}:`) && bytes.subarray(end).equals(this.#computeProof(head, bound))
    );
  }
}
