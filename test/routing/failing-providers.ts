/** Providers that fail, and traffic to them in fake time. */
import { vi } from 'vitest';
import { GatewayError } from '../../core/index.ts';
import { health } from '../../plugins/routing/health.ts';
import { Traffic, type Outcome, type Vendor } from '../support/traffic.ts';

export const down = new GatewayError('upstream_failed', 'The provider failed with status 500.');

export const buildFullError = (retryAfter?: number): GatewayError =>
  new GatewayError('rate_limited', 'The provider takes no more calls at the moment.', { retryAfter });

/** A gateway that refuses calls without a healthy target. */
export const refusing = [health({ pause: 5, whenAllFail: 'refuse' })];

export async function openTraffic(vendor: Vendor, plugins = [health({ pause: 5 })]): Promise<Traffic> {
  const started = new Traffic(plugins, vendor);
  await started.open();
  return started;
}

export async function callOnce(
  started: Traffic,
  ...targets: Parameters<Traffic['call']>[0]
): Promise<Outcome> {
  const ended: Outcome[] = [];
  void started.call(targets).then((outcome) => void ended.push(outcome));
  await vi.advanceTimersByTimeAsync(1000);
  for (let second = 0; second < 60 && ended.length === 0; second += 1)
    await vi.advanceTimersByTimeAsync(1000);
  const [outcome] = ended;
  if (!outcome) throw new Error('the call did not end');
  return outcome;
}

export const countSent = (outcomes: readonly Outcome[]): number =>
  outcomes.reduce((sum, outcome) => sum + outcome.sent, 0);
