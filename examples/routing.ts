/**
 * A routing plugin of your own: this one sends the calls of some accounts to providers that you name, and to
 * no others. The hook `route` passes the targets of the model, and takes those to try, in order. Strategies
 * that sort targets, such as `routing/latency`, tap the same hook.
 */
import { definePlugin } from 'tollgate';
import { z } from 'zod';

const options = z.strictObject({
  accounts: z.array(z.string()).min(1),
  providers: z.array(z.string()).min(1),
});

export const confine = definePlugin({
  name: 'confine',
  options,
  apply({ hooks, plugins, onApplied }, { accounts, providers }) {
    // All plugins are known by then, whatever their order. What it throws stops the start.
    onApplied(() => {
      const unknown = providers.filter((name) => !plugins.has(name));
      if (unknown.length > 0) throw new Error(`"providers": no plugin is called ${unknown.join(', ')}`);
    });
    // `because` is shown with a call that lost targets. Without any target the model is not found.
    hooks.route.tap({ name: 'confine', because: 'its account is confined' }, (targets, { principal }) =>
      accounts.includes(principal.account)
        ? targets.filter(({ provider }) => providers.includes(provider.name))
        : targets,
    );
  },
});
