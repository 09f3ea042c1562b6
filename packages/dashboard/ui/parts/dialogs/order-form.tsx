import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { OrderResult } from '../../orders.ts';
import { say } from '../../page.ts';

type OrderFormProps = {
  /** Label of the button that sends the order; without one, there is no button. */
  readonly label: string | undefined;
  readonly send: () => Promise<OrderResult>;
  readonly shut: () => void;
  readonly children: ComponentChildren;
};

/** A form for one order: stays open, with the reason, when the order is refused. */
export function OrderForm({ label, send, shut, children }: OrderFormProps) {
  const failure = useSignal<string | undefined>(undefined);
  const busy = useSignal(false);
  const submit = async (): Promise<void> => {
    busy.value = true;
    const said = await send();
    busy.value = false;
    failure.value = said.done ? undefined : said.message;
    if (!said.done) return;
    say(said);
    shut();
  };
  return (
    <form
      onSubmit={event => {
        event.preventDefault();
        if (label !== undefined && !busy.value) void submit();
      }}
    >
      {children}
      {failure.value !== undefined && (
        <p class="failure" role="alert">
          {failure.value}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button" onClick={shut}>
          {label === undefined ? 'Close' : 'Cancel'}
        </button>
        {label !== undefined && (
          <button type="submit" class="button main" aria-disabled={busy.value}>
            {label}
          </button>
        )}
      </div>
    </form>
  );
}
