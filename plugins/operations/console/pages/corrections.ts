/** Dialogs that correct what was credited, and open, disable or close an account. */
import { api } from './api.ts';
import { Form, type Values } from './form.ts';
import { closeDialog, html, openDialog } from './kit.ts';

const reason = {
  name: 'reason',
  label: 'Reason',
  isRequired: true,
  hint: 'It stays in the books, with your name.',
};

export function openAdjustment(account: string, done: () => void): void {
  openDialog(
    `Adjust the credit of ${account}`,
    html`<${Form}
      fields=${[
        {
          name: 'amount',
          label: 'Amount in USD',
          isRequired: true,
          placeholder: '-2.50',
          hint: 'A negative amount takes credit back.',
        },
        reason,
      ]}
      submit="Adjust"
      onSubmit=${async ({ amount, reason: why }: Values) => {
        await api.post('/admin/adjustments', { account, amount, reason: why });
        closeDialog();
        done();
      }}
    />`,
  );
}

export function openState(account: string, state: string, done: () => void): void {
  openDialog(
    `State of ${account}`,
    html`<${Form}
      fields=${[
        {
          name: 'state',
          label: 'State',
          type: 'select',
          value: state,
          options: [
            ['open', 'open: its keys work'],
            ['disabled', 'disabled: its keys are refused within a second'],
            ['closed', 'closed for good'],
          ],
        },
      ]}
      submit="Change"
      onSubmit=${async ({ state: wanted }: Values) => {
        await api.patch(`/admin/accounts/${encodeURIComponent(account)}/state`, { state: wanted });
        closeDialog();
        done();
      }}
    />`,
  );
}

export function openRefund(call: string, cost: string, done: () => void): void {
  openDialog(
    'Refund this call',
    html`<${Form}
      fields=${[
        {
          name: 'amount',
          label: 'Amount in USD',
          value: cost,
          isRequired: true,
          hint: 'At most what the call cost. A call is refunded once.',
        },
        reason,
      ]}
      submit="Refund"
      onSubmit=${async ({ amount, reason: why }: Values) => {
        await api.post('/admin/refunds', { call, amount, reason: why });
        closeDialog();
        done();
      }}
    />`,
  );
}
