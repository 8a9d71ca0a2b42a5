/** The PostgreSQL store: the contract, and what is its own. */
import { testStore } from '../contract/store.ts';
import { openFresh } from './postgres-database.ts';

testStore('PostgreSQL', () => openFresh());
