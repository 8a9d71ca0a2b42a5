/** Which script a model follows: found by its exact name, or by the end of it if written as `*-cut`. */
import type { Scenario } from './scenario.ts';
import type { ReceivedRequest } from './server.ts';

/** One call as a handler sees it. */
interface Call<Request> {
  readonly request: Request;
  readonly received: ReceivedRequest;
  /** How many calls its script has answered before. */
  readonly turn: number;
}

export type Step<Request = unknown> = Scenario | ((call: Call<Request>) => Scenario | Promise<Scenario>);

interface Script<Request> {
  readonly steps: readonly Step<Request>[];
  turn: number;
}

export class ScriptBook<Request> {
  readonly #scripts = new Map<string, Script<Request>>();

  set(pattern: string, steps: readonly Step<Request>[]): void {
    this.#scripts.set(pattern, { steps, turn: 0 });
  }

  clear(): void {
    this.#scripts.clear();
  }

  #find(model: string): Script<Request> | undefined {
    const exact = this.#scripts.get(model);
    if (exact) return exact;
    const suffixes = [...this.#scripts.keys()].filter(
      (pattern) => pattern.startsWith('*') && model.endsWith(pattern.slice(1)),
    );
    const longest = suffixes.toSorted((one, other) => other.length - one.length)[0];
    return longest === undefined ? undefined : this.#scripts.get(longest);
  }

  has(model: string): boolean {
    return this.#find(model) !== undefined;
  }

  /** The scenario of the next call to a model; a script's last step answers all later calls. */
  async takeScenario(model: string, request: Request, received: ReceivedRequest): Promise<Scenario> {
    const script = this.#find(model);
    if (!script) return {};
    const turn = script.turn;
    script.turn += 1;
    const step = script.steps[Math.min(turn, script.steps.length - 1)];
    return typeof step === 'function' ? step({ request, received, turn }) : (step ?? {});
  }
}
