/** One seed for all property tests, so that a run can be repeated; `SEED=<number>` chooses another. */
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.SEED ?? 20_260_702) });
