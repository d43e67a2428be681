package ledger

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestPortion compares with numbers that cannot overflow.
func TestPortion(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		amount := random.Int64() >> random.IntN(63)
		denominator := max(random.Int64()>>random.IntN(63), 1)
		numerator := random.Int64N(denominator) + random.Int64N(2)
		want := new(big.Int).Mul(big.NewInt(amount), big.NewInt(numerator))
		want.Quo(want, big.NewInt(denominator))
		if got := portion(amount, Ratio{numerator, denominator}); got != want.Int64() {
			t.Fatalf("%d × %d / %d = %d, want %s", amount, numerator, denominator, got, want)
		}
	}
	if got := portion(math.MaxInt64, Ratio{Whole, Whole}); got != math.MaxInt64 {
		t.Errorf("all of the highest amount is %d", got)
	}
	if got := portion(0, Ratio{}); got != 0 {
		t.Errorf("a part of nothing is %d", got)
	}
}

// TestBalances compares sales with what was written down for them.
func TestBalances(t *testing.T) {
	seventy := &Division{ShareBP: 7000, Bears: MarketplaceBears}
	nothing, all := int64(0), int64(5900)
	sale := func(change func(*Sale)) Sale {
		s := Sale{Gross: 5900, Currency: "USD", Collected: ByProvider, Division: seventy}
		change(&s)
		return s
	}
	fees := []Fee{{Amount: 201, Currency: "USD", Rate: Ratio{1, 1}}}
	tests := []struct {
		name string
		sale Sale
		want map[Account]int64
	}{
		{"sold", sale(func(*Sale) {}), map[Account]int64{Provider: 5900, Share: -4130, Margin: -1770}},
		{
			"sold by the marketplace", sale(func(s *Sale) { s.Collected = ByMarketplace }),
			map[Account]int64{External: 5900, Share: -4130, Margin: -1770},
		},
		{
			"sold by the partner", sale(func(s *Sale) { s.Collected = ByPartner }),
			map[Account]int64{Share: 1770, Margin: -1770},
		},
		{
			"half of it refunded by the partner", sale(func(s *Sale) { s.Collected, s.Back = ByPartner, 2950 }),
			map[Account]int64{Share: 885, Margin: -885},
		},
		{"payable", sale(func(s *Sale) { s.Payable = true }), map[Account]int64{Provider: 5900, Payable: -4130, Margin: -1770}},
		{
			"a third refunded", sale(func(s *Sale) { s.Back = 1967 }),
			map[Account]int64{Provider: 3933, Share: -2754, Margin: -1179},
		},
		{"refunded", sale(func(s *Sale) { s.Back = 5900 }), nil},
		{
			"more back than paid", sale(func(s *Sale) { s.Back = 6000 }),
			map[Account]int64{Provider: -100, Margin: 100},
		},
		{
			"disputed", sale(func(s *Sale) { s.Disputed = 5900 }),
			map[Account]int64{Provider: 5900, Disputed: -4130, Margin: -1770},
		},
		{
			"disputed after a refund", sale(func(s *Sale) { s.Back, s.Disputed, s.Payable = 2950, 5900, true }),
			map[Account]int64{Provider: 2950, Disputed: -2065, Margin: -885},
		},
		{
			"the marketplace bears the fee", sale(func(s *Sale) { s.Fees = fees }),
			map[Account]int64{Provider: 5699, Fees: 201, Share: -4130, Margin: -1770},
		},
		{
			"the partner bears the fee", sale(func(s *Sale) { s.Fees, s.Division = fees, &Division{7000, PartnerBears} }),
			map[Account]int64{Provider: 5699, Share: -3929, Margin: -1770},
		},
		{
			"each bears its part", sale(func(s *Sale) { s.Fees, s.Division = fees, &Division{7000, ByShare} }),
			map[Account]int64{Provider: 5699, Fees: 61, Share: -3990, Margin: -1770},
		},
		{
			"refunded with its fee", sale(func(s *Sale) {
				s.Fees, s.Division, s.Back = fees, &Division{7000, PartnerBears}, 5900
			}),
			map[Account]int64{Provider: -201, Share: 201},
		},
		{
			"undivided", sale(func(s *Sale) { s.Division, s.Back, s.Disputed = nil, 900, 1000 }),
			map[Account]int64{Provider: 5000, Undivided: -4000, Disputed: -1000},
		},
		{
			"undivided, and the partner took the money", sale(func(s *Sale) { s.Division, s.Collected = nil, ByPartner }),
			map[Account]int64{Held: 5900, Undivided: -5900},
		},
		{"settled", sale(func(s *Sale) { s.Settled, s.Payable = &nothing, true }), nil},
		{
			"refunded after it was settled", sale(func(s *Sale) { s.Settled, s.Payable, s.Back = &nothing, true, 5900 }),
			map[Account]int64{Provider: -5900, Payable: 4130, Margin: 1770},
		},
		{"settled after it was refunded", sale(func(s *Sale) { s.Settled, s.Back = &all, 5900 }), nil},
		{"free", Sale{Collected: ByProvider, Division: seventy}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := map[Account]int64{}
			for _, b := range tt.sale.Balances() {
				if b.Currency != "USD" {
					t.Errorf("currency %q", b.Currency)
				}
				got[b.Account] = b.Amount
			}
			for account, amount := range tt.want {
				if got[account] != amount {
					t.Errorf("%s has %d, want %d", account, got[account], amount)
				}
				delete(got, account)
			}
			if len(got) > 0 {
				t.Errorf("also %v", got)
			}
		})
	}
}

// TestEverySaleIsBalanced checks that the accounts of any sale sum to zero in each currency, that no
// amount is too large, and that a sale whose money is all back leaves only its fee.
func TestEverySaleIsBalanced(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		s := anySale(random)
		sums := map[string]int64{}
		for _, b := range s.Balances() {
			sums[b.Currency] += b.Amount
			if b.Amount == 0 {
				t.Fatalf("%+v writes an empty line", s)
			}
		}
		for currency, sum := range sums {
			if sum != 0 {
				t.Fatalf("%+v: the accounts in %s sum to %d", s, currency, sum)
			}
		}
		s.Back, s.Settled = s.Gross, nil
		for _, b := range s.Balances() {
			if len(s.Fees) == 0 {
				t.Fatalf("%+v is refunded, and %s has %d", s, b.Account, b.Amount)
			}
		}
	}
}

func anySale(random *rand.Rand) Sale {
	s := Sale{
		Gross:     random.Int64() >> (2 + random.IntN(62)),
		Currency:  "EUR",
		Collected: []Collector{ByProvider, ByMarketplace, ByPartner}[random.IntN(3)],
		Payable:   random.IntN(2) == 0,
	}
	if random.IntN(3) > 0 {
		bears := []Bearer{MarketplaceBears, PartnerBears, ByShare}[random.IntN(3)]
		s.Division = &Division{ShareBP: random.Int64N(Whole + 1), Bears: bears}
	}
	if random.IntN(2) == 0 {
		s.Back = random.Int64N(s.Gross*3/2 + 1)
	}
	if random.IntN(3) == 0 {
		s.Disputed = random.Int64N(s.Gross + 1)
	}
	if random.IntN(3) == 0 {
		s.Fees = []Fee{
			{Amount: random.Int64N(1000), Currency: "EUR", Rate: Ratio{1, 1}},
			{
				Amount: random.Int64N(1000) - 500, Currency: "USD", Dispute: random.IntN(2) == 0,
				Rate: Ratio{1 + random.Int64N(1000), 1 + random.Int64N(1000)},
			},
		}
	}
	if random.IntN(4) == 0 {
		settled := random.Int64N(s.Back + 1)
		s.Settled = &settled
	}
	return s
}
