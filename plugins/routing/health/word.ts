/**
 * The word that goes round among workers: a target that one of them finds full, barred or failing rests in all of
 * them, so that not each has to find out for itself. That it does well again each sees by its own calls.
 */
import { z } from 'zod';
import { errorTable, GatewayError, type ErrorCode, type Host, type Offer, type Workers } from '../../../core/index.ts';

const topic = 'health';

const codes = Object.keys(errorTable).filter((code): code is ErrorCode => code in errorTable);

const wordSchema = z.object({
  provider: z.string(),
  credential: z.number().optional(),
  model: z.string(),
  milliseconds: z.number(),
  code: z.enum(codes),
  message: z.string(),
});

type Named = Pick<Offer, 'provider' | 'model'>;

export function passOn(workers: Workers, { provider: { name, credential }, model }: Named, milliseconds: number, { code, message }: GatewayError): void {
  if (workers.several) void workers.askOthers(topic, { provider: name, credential, model: model.id, milliseconds, code, message } satisfies z.output<typeof wordSchema>);
}

/** Calls `rest` for each target that another worker says is to rest; the answer ends it. */
export function hear({ workers, catalog }: Pick<Host, 'workers' | 'catalog'>, rest: (target: Named, milliseconds: number, reason: GatewayError) => void): () => void {
  return workers.answer(topic, (said) => {
    const { provider, credential, model, milliseconds, code, message } = wordSchema.parse(said);
    const target = catalog.find(model).find((offer) => offer.provider.name === provider && offer.provider.credential === credential);
    if (target) rest(target, milliseconds, new GatewayError(code, message));
  });
}
