package money

import "strings"

// known are the currencies of ISO 4217, and in the last line some that were withdrawn lately: earlier
// sales may have them.
var known = strings.Fields(`
	AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD
	CAD CDF CHF CLF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP
	GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD
	KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK
	NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD
	SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYI UYU UYW UZS VED VES VND VUV
	WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
	CUC HRK SLL ZWL`)

var isKnown = func() map[string]bool {
	set := make(map[string]bool, len(known))
	for _, code := range known {
		set[code] = true
	}
	return set
}()

// Known reports whether there is a currency with this code.
func Known(code string) bool { return isKnown[code] }
