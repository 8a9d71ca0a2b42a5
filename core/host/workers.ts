/** How a plugin reaches the other processes that share the port. */

/** Answers a question of another process. Questions and answers cross as JSON; undefined is no answer. */
export type AnswerQuestion = (question: unknown) => unknown;

/** The other processes that share the port. Questions and answers cross as JSON. */
export interface Workers {
  readonly several: boolean;
  /** Sends news to all other workers, and waits for nothing. */
  notify(topic: string, news: unknown): void;
  /** Asks all other workers, and resolves with the first answer. Undefined if none answers in time. */
  askForFirstAnswer(topic: string, question: unknown): Promise<unknown>;
  /** Asks all other workers, and resolves with the answers of those that answer in time. */
  askForAllAnswers(topic: string, question: unknown): Promise<readonly unknown[]>;
  /** Asks the plugin's `supervise`. Undefined if it does not answer in time, by default two seconds. */
  askSupervisor(topic: string, question: unknown, milliseconds?: number): Promise<unknown>;
  /** Answers questions of other processes. The result stops answering. */
  answer(topic: string, answer: AnswerQuestion): () => void;
}

/** The process that starts the workers, as a plugin sees it. */
export interface Supervisor {
  /** The handler also receives the number of the worker that asks. */
  answer(topic: string, answer: (question: unknown, worker: number) => unknown): void;
  /** Runs for each worker that exits, with its number. */
  onGone(listener: (worker: number) => void): void;
}
