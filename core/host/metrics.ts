/** The process's one set of metrics, which survives reloads. */
import cluster from 'node:cluster';
import { Counter, Registry } from 'prom-client';

export const metrics = new Registry();

/** Counted by the process that starts the workers. A gateway of one process reports 0. */
export const workerDeaths = new Counter({
  name: 'tollgate_worker_deaths_total',
  help: 'Worker processes that ended though nothing stopped the gateway.',
  registers: cluster.isWorker ? [] : [metrics],
});
