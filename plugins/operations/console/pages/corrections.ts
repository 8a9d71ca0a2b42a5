/** Dialogs that correct what was credited, and open, disable or close an account. */
import { call } from './api.ts';
import { openForm, type Field } from './form.ts';
import { notify } from './kit.ts';

const reason: Field = {
  name: 'reason',
  label: 'Reason',
  isRequired: true,
  hint: 'Stored in the books with your name.',
};
const buildAmountField = (more: Partial<Field>): Field => ({
  name: 'amount',
  label: 'Amount in USD',
  isRequired: true,
  ...more,
});

export function openAdjustment(account: string, onDone: () => void): void {
  openForm({
    title: `Adjust the credit of ${account}`,
    fields: [
      buildAmountField({ placeholder: '-2.50', hint: 'A negative amount takes credit back.' }),
      reason,
    ],
    submit: 'Adjust',
    send: (values) => call('POST /admin/adjustments', {}, { account, ...values }),
    onDone,
  });
}

const states = [
  ['open', 'open: its keys work'],
  ['disabled', 'disabled: its keys are refused within a second'],
  ['closed', 'closed for good'],
] as const;

export function openState(account: string, state: string, onDone: () => void): void {
  openForm({
    title: `State of ${account}`,
    fields: [
      {
        name: 'state',
        label: 'State',
        type: 'select',
        value: state,
        options: states,
        hint: 'A closed account cannot be opened again.',
      },
    ],
    submit: 'Change',
    send: (values) => call('PATCH /admin/accounts/:account/state', { account }, values),
    onDone,
  });
}

export function openRefund(id: string, cost: string, onDone: () => void): void {
  openForm({
    title: 'Refund this call',
    fields: [
      buildAmountField({ value: cost, hint: 'At most what the call cost. A call is refunded once.' }),
      reason,
    ],
    submit: 'Refund',
    async send(values) {
      const { status } = await call('POST /admin/refunds', {}, { call: id, ...values });
      if (status === 'already_credited') notify('Nothing was refunded: this call was refunded before', true);
    },
    onDone,
  });
}
