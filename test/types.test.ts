/**
 * What the types promise to plugin authors: each wrong tap below does not compile, which `tsc` holds as part
 * of the tests.
 */
import { expectTypeOf, it } from 'vitest';
import { defineConfig } from '../core/index.ts';
import type {
  Answered,
  Attempt,
  CanonicalRequest,
  ConfigInput,
  End,
  Failed,
  Grant,
  Hooks,
  Planned,
  Principal,
  Received,
  Refused,
  Routed,
} from '../core/index.ts';
import { balance } from '../plugins/meters/balance/index.ts';
import { openai } from '../plugins/providers/openai.ts';

declare const hooks: Hooks;
const never = (): boolean => false;

/** Never called: its body only has to compile, or not. */
export function tapHooks(): void {
  hooks.authenticate.tapPromise('right', async (received) =>
    received.headers.authorization ? { kind: 'user', account: 'a', key: 'k' } : undefined,
  );
  hooks.authenticate.tap('right', () => undefined);
  hooks.observe.tap('right', ({ duration }) => void duration);
  // @ts-expect-error: tapable does not await what `tap(async …)` returns
  hooks.authenticate.tap('wrong', async () => undefined);
  // @ts-expect-error: nor where nothing is answered
  hooks.observe.tap('wrong', async () => {});
  // @ts-expect-error: a plugin taps and never calls
  void hooks.meter.promise;
  // @ts-expect-error: a principal has an account
  hooks.authenticate.tapPromise('wrong', async () => ({ kind: 'user', key: 'k' }));
  // @ts-expect-error: null would stop the hook as if it were a principal
  hooks.authenticate.tapPromise('wrong', async () => null);
  // @ts-expect-error: nothing of the body is known before the caller is
  hooks.authenticate.tapPromise('wrong', async (received) => received.call);
  // @ts-expect-error: who calls is not known before the caller is
  hooks.authenticate.tapPromise('wrong', async (received) => received.principal);
  // @ts-expect-error: the targets are not known before they are routed
  hooks.route.tapPromise('wrong', async (targets, parsed) => parsed.targets);
  // @ts-expect-error: a waterfall tap has to answer a value
  hooks.route.tapPromise('wrong', async () => {});
  // @ts-expect-error: an authorize tap answers a grant
  hooks.authorize.tapPromise('wrong', async (grant) => grant.targets);
  // @ts-expect-error: a transform says when it applies
  hooks.transformRequest.tapPromise('wrong', async (request) => request);
  // @ts-expect-error: transforms of streams are synchronous: an iterable around an iterable
  hooks.transformStream.tap({ name: 'wrong', when: never }, async (events) => events);
  // @ts-expect-error: the attempt hook cannot wait
  hooks.attempt.tap('wrong', async () => {});
  hooks.authorize.tapPromise('wrong', async (grant, planned) => {
    // @ts-expect-error: an exchange cannot be changed by a tap
    planned.principal.account = 'other';
    return grant;
  });
  // @ts-expect-error: only an exchange that reached a vendor has a charge
  hooks.meter.tapPromise('wrong', async (end) => void end.charge);
  hooks.meter.tapPromise('right', async (end) => void (end.type === 'answered' && end.charge.cost));
  hooks.transformRequest.tapPromise(
    { name: 'right', when: (exchange) => exchange.call.stream },
    async (request) => ({ ...request, topK: 1 }),
  );
}

/** Never called either: what an editor completes and refuses in a configuration. */
export function defineConfigurations(): void {
  defineConfig({
    server: { port: 1 },
    plugins: [openai(), process.env.X && openai({ apiKey: 'k' }), false, balance({ whenShort: 'refuse' })],
  });
  // @ts-expect-error: there is no such setting
  defineConfig({ sever: {}, plugins: [] });
  // @ts-expect-error: a setting has a type
  defineConfig({ server: { port: '1' }, plugins: [] });
  // @ts-expect-error: there are always plugins
  defineConfig({ server: { port: 1 } });
  // @ts-expect-error: a plugin's factory has to be called
  defineConfig({ plugins: [openai] });
  // @ts-expect-error: there is no such option
  openai({ apiKye: 'k' });
  // @ts-expect-error: not one of an option's values
  balance({ whenShort: 'ask' });
  // @ts-expect-error: a plugin says which interface it was made for
  defineConfig({ plugins: [{ name: 'x', apply: () => undefined }] });
}

it('an editor has names to complete: no setting and no option is just any', () => {
  expectTypeOf<string>().not.toExtend<keyof ConfigInput>();
  expectTypeOf<'server' | 'timeouts' | 'plugins'>().toExtend<keyof ConfigInput>();
  type Options = NonNullable<Parameters<typeof balance>[0]>;
  expectTypeOf<string>().not.toExtend<keyof Options>();
  expectTypeOf<'whenShort' | 'lease' | 'topUps'>().toExtend<keyof Options>();
  expectTypeOf<NonNullable<Options['whenShort']>>().toEqualTypeOf<'lower' | 'refuse'>();
});

it('the exchange grows, and each stage is all the earlier ones', () => {
  expectTypeOf<Routed>().toExtend<Planned>();
  expectTypeOf<Planned>().toExtend<Received>();
  expectTypeOf<Received>().not.toHaveProperty('principal');
  expectTypeOf<Planned['principal']>().toEqualTypeOf<Principal>();
  expectTypeOf<Parameters<Parameters<Hooks['authorize']['tapPromise']>[1]>>().toEqualTypeOf<
    [Grant, Planned]
  >();
  expectTypeOf<Parameters<Parameters<Hooks['attempt']['tap']>[1]>>().toEqualTypeOf<[Attempt, Routed]>();
});

it('ends are distinguished by their type, and only some have a charge', () => {
  expectTypeOf<Extract<End, { type: 'refused' }>>().toEqualTypeOf<Refused>();
  expectTypeOf<Extract<End, { charge: unknown }>>().toEqualTypeOf<Failed | Answered>();
  expectTypeOf<
    Awaited<ReturnType<Parameters<Hooks['transformRequest']['tapPromise']>[1]>>
  >().toEqualTypeOf<CanonicalRequest>();
});
