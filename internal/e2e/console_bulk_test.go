package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/e2e/browser"
)

// TestConsoleBulkRedelivery redelivers all events of a filtered list: preview, leave out a row,
// confirm. The page follows until each row has its result.
func TestConsoleBulkRedelivery(t *testing.T) {
	t.Parallel()
	b := newOperator(t)
	b.sold(b.card.Buyer.Email, "order-2")
	b.visit("/console/deliveries?range=all")
	b.Press("main a[href*='/bulk/redeliver']")
	b.look("console-bulk-redeliver")
	b.wantText("Nothing is done before you confirm")
	b.Press("main form button")
	b.wantText("Send events again")
	b.wantText("What will happen")
	b.wantText("will be skipped")
	b.look("console-bulk-prepared")
	rows := browser.Eval[int](b.Tab, "document.querySelectorAll('#rows tbody tr').length")
	if rows < 2 {
		t.Fatalf("%d rows to send again", rows)
	}
	if label := b.Text("#bulk .card form button"); label != fmt.Sprintf("Send %d events again", rows) {
		t.Errorf("the button says %q", label)
	}
	browser.Eval[bool](b.Tab, "document.querySelector('#position-1').click() ?? true")
	b.Press("#choose-rows button[value=leave_out]")
	b.wantText("A person left it out before the act began.")
	b.look("console-bulk-left-out")
	rows--
	b.Press("#bulk .card form button")
	b.Await("#bulk progress[value='100']") // the page updates without a reload
	b.wantText(fmt.Sprintf("Done %d of %d row", rows, rows))
	b.look("console-bulk-done")
	b.visit("/console/bulk")
	b.look("console-bulk-list")
	if text := b.Text("#jobs"); !strings.Contains(text, "Send events again") || !strings.Contains(text, "Done") {
		t.Errorf("the list says %s", text)
	}
	b.visit("/console/audit?action=event.redeliver")
	if n := browser.Eval[int](b.Tab, "document.querySelectorAll('main tbody tr').length"); n != rows {
		t.Errorf("the audit has %d entries for %d rows", n, rows)
	}
}
