/**
 * Lets processes that share a port reach each other by messages through their parent. A worker asks the
 * others for what one of them may know, or the parent for what is kept once. No answer in time counts as
 * none, because the asked process may have died.
 */
import cluster, { type Worker } from 'node:cluster';
import { z } from 'zod';
import type { AnswerQuestion, Supervisor, Workers } from '../plugin.ts';
import { setDeadline } from '../util/timeouts.ts';
import { metrics } from './metrics.ts';

/** Milliseconds within which a worker answers, and within which the caller gets an answer. */
const patience = { worker: 1000, all: 2000 };

const questionSchema = z.object({
  type: z.literal('tollgate:question'),
  id: z.number(),
  to: z.enum(['first', 'all', 'supervisor']),
  topic: z.string(),
  question: z.unknown().optional(),
});
/** Has no `answer` if there is none: JSON has no undefined. */
const answerSchema = z.object({
  type: z.literal('tollgate:answer'),
  id: z.number(),
  answer: z.unknown().optional(),
});

type Question = z.output<typeof questionSchema>;
type Answer = z.output<typeof answerSchema>;

class Waiting {
  readonly #answered = new Map<number, (answer: unknown) => void>();
  #last = 0;

  /** `send` sends a question by its number. The answer is undefined if none arrives in time. */
  ask(milliseconds: number, send: (id: number) => void): Promise<unknown> {
    const id = (this.#last += 1);
    return new Promise((resolve) => {
      const settle = (answer: unknown): void => {
        clearDeadline();
        this.#answered.delete(id);
        resolve(answer);
      };
      const clearDeadline = setDeadline(milliseconds, () => settle(undefined));
      this.#answered.set(id, settle);
      send(id);
    });
  }

  read(message: unknown): void {
    const { success, data } = answerSchema.safeParse(message);
    if (success) this.#answered.get(data.id)?.(data.answer);
  }
}

/** The first actual answer. A failure counts as none. */
async function awaitFirst(answers: readonly Promise<unknown>[]): Promise<unknown> {
  const given = answers.map(async (answer) => (await answer) ?? Promise.reject(new Error('no answer')));
  return Promise.any(given).catch(() => undefined);
}

function send(message: Question | Answer): void {
  process.send?.(message);
}

function openLine(): Workers {
  const waiting = new Waiting();
  const answers = new Map<string, Set<AnswerQuestion>>();
  process.on('message', (message) => {
    waiting.read(message);
    const { success, data } = questionSchema.safeParse(message);
    if (!success) return;
    const { id, topic, question } = data;
    void awaitFirst([...(answers.get(topic) ?? [])].map(async (answer) => answer(question))).then((answer) =>
      send({ type: 'tollgate:answer', id, answer }),
    );
  });
  const ask = (
    to: Question['to'],
    topic: string,
    question: unknown,
    milliseconds = patience.all,
  ): Promise<unknown> =>
    waiting.ask(milliseconds, (id) => send({ type: 'tollgate:question', id, to, topic, question }));
  return {
    several: true,
    notify: (topic, news) => void ask('first', topic, news),
    askForFirstAnswer: (topic, question) => ask('first', topic, question),
    async askForAllAnswers(topic, question) {
      const answers = await ask('all', topic, question);
      return Array.isArray(answers) ? answers : [];
    },
    askSupervisor: (topic, question, milliseconds) => ask('supervisor', topic, question, milliseconds),
    answer(topic, answer) {
      const known = answers.get(topic) ?? new Set();
      answers.set(topic, known.add(answer));
      return () => void known.delete(answer);
    },
  };
}

const alone: Workers = {
  several: false,
  notify: () => undefined,
  askForFirstAnswer: async () => undefined,
  askForAllAnswers: async () => [],
  askSupervisor: async () => undefined,
  answer: () => () => undefined,
};

export const workers: Workers = cluster.isWorker ? openLine() : alone;

/** Passes questions between the workers of this process, and answers those addressed to the parent. */
export function openSwitchboard(): Supervisor {
  const waiting = new Waiting();
  const answers = new Map<string, Parameters<Supervisor['answer']>[1]>();
  const askEach = (asking: Worker, question: Question): Promise<unknown>[] => {
    const others = Object.values(cluster.workers ?? {}).flatMap((worker) =>
      worker && worker !== asking && worker.isConnected() ? [worker] : [],
    );
    return others.map((worker) =>
      waiting.ask(patience.worker, (id) => void worker.send({ ...question, id } satisfies Question)),
    );
  };
  const answerQuestion = async (worker: Worker, data: Question): Promise<unknown> => {
    if (data.to === 'first') return awaitFirst(askEach(worker, data));
    if (data.to === 'all')
      return (await Promise.all(askEach(worker, data))).filter((given) => given !== undefined);
    return awaitFirst([(async () => answers.get(data.topic)?.(data.question, worker.id))()]);
  };
  cluster.on('message', (worker, message) => {
    waiting.read(message);
    const { success, data } = questionSchema.safeParse(message);
    if (!success) return;
    void answerQuestion(worker, data).then((answer) =>
      worker.send({ type: 'tollgate:answer', id: data.id, answer } satisfies Answer),
    );
  });
  return {
    metrics,
    answer: (topic, answer) => void answers.set(topic, answer),
    onGone: (listener) => void cluster.on('exit', ({ id }) => listener(id)),
  };
}
